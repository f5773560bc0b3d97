"""``nmt report``: a run on one page."""
