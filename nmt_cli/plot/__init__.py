"""Pictures of models, trainings and text, and the report page."""

from nmt_cli.host import import_matplotlib

import_matplotlib()
