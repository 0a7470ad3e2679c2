"""Fuzz targets of the Python side: functions of bytes that raise where a promise is broken, and their inputs."""
