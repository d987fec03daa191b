"""The published files of the five sets, brought into the suite's own layout (one file per published format)."""

from datasets.official.importer import ImportReport, ImportSettings, import_official

__all__ = ["ImportReport", "ImportSettings", "import_official"]
