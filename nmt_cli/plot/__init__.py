"""Pictures of models, trainings and text, and the report page."""

from nmt_cli.frameworks import import_matplotlib

import_matplotlib()
