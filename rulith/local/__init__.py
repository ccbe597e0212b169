"""The roles of one home: its gateway found or started, its Worker and Agent handed what they need."""
