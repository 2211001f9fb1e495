"""The dashboard: the benchmark suite measured by asv, and every implementation side by side on one page.

The file list is the order of work: `checkout` (which commit), `measuring` (asv, in a process that `driver` runs),
`results` (asv's files, which `shape` checks), `rows` (what they say), `bars` (what they have to reach), `page`,
`figures` and `summary` (what people read), `offline` (asv's own page without the network), `serving`; `command` puts
them together.
"""


class DashboardError(Exception):
    """What was asked for cannot be done; the text says why."""
