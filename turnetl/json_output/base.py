"""Times of the `--json` objects that are no results."""

from datetime import datetime
from typing import overload

from turnetl.base.clock import encoded_time
from turnetl.base.result_schema import Timestamp


@overload
def timestamp(time: datetime) -> Timestamp: ...
@overload
def timestamp(time: datetime | None) -> Timestamp | None: ...
def timestamp(time: datetime | None) -> Timestamp | None:
    return None if time is None else encoded_time(time)
