"""The setting of MonkeyTree's Figure 6: 1,024 GPUs in 16 racks below 16 spines, 4:1 oversubscribed, at load 1.0.

MonkeyTree (Zabreyko, Wang, Ghobadi; arXiv 2602.08296) moves jobs until few of their flows leave a rack. Its simulator
is github.com/hipersys-team/MonkeyTree, its job files and plots github.com/hipersys-team/MonkeyTreeArtifact. Neither has
a licence, so nothing of them is here: the setting is described anew, with the parameters that they state.
"""
