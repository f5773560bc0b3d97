"""A static page that translates in the browser."""
