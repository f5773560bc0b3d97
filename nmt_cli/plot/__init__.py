"""Pictures of models, trainings and text, and the report page."""
