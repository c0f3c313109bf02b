"""Communities: entities that facts connect closely, as clusters with a name and a summary.

Everything here is pure: the same entities and valid facts give the same communities with the same
uuids, in whichever order they are loaded.
"""
