"""Methods of `Robot` that open another room (audit, simulation, viewer, equations), which is loaded when it is used."""
