"""The benchmark: dalembert beside every installed peer, on the same states, in one run.

`cases` says which robots, `peers/` how others are called, `clock` how time is taken, `study` puts them together,
`startup` measures import and compilation in fresh processes, `report` shows the result; `period`, the shares of a
control period.
"""
