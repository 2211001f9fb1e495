"""The `buflend` command: comparisons and dashboards measured on the machine they are shown on."""
