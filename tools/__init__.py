"""What the project is built with and does not ship."""
