"""`simulate`: legs, events, recording, the energy ledger, the audit of a run, and its files."""
