"""Pictures of models, trainings and text, with matplotlib."""
