"""Pages and API of the workbench, profiles, child roles, event feed."""
