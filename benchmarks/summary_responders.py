"""Responses of a fake model to real turns that depend on all that a prompt shows, in its order.

One fact more or less, or another summary in a prompt, gives another graph. The summary of an entity
depends on what the request says about it alone.
"""

from tests.servers import order_sensitive_responses, summary_responses
from tests.servers.canned_responses import Responders

RESPONDERS: Responders = {
    **order_sensitive_responses.RESPONDERS,
    "entity_summaries": summary_responses.RESPONDERS["entity_summaries"],
}
