"""Models: language models and embedders, and Graphiti's client classes in front of them.

    chat                a request, an answer, and `Model`, the seam that all below is behind
    models              from a provider's name to a model; several by prompt as one
    openai, anthropic, gemini, schemas
                        wires: what is sent to each provider, and read from it
    http                one attempt over a wire; failures says what went wrong; address and
                        connections are beneath
    room, unwanted, in_words
                        what is learnt from a server's refusals: how long an answer may be, what it
                        does not want beside a request, that the form must be told in words
    stack               what stands around every call: journal, budget (and reserve), retry (and
                        fit, whether an answer is what was asked for), limiter, meter (and prices)
    graphiti            the model and the embedder as Graphiti calls them; mended is what its
                        answers go through
    check               a call of each kind before a run; trials are the calls, checked what is told
    port, embedders, vectors
                        texts to vectors

What wraps a model is a model. Nothing here knows of turns or of a graph.
"""

import os

# Graphiti reports home whenever a `Graphiti` is built, unless this says no. Nothing here builds
# one; this is for the day somebody does. A choice that the person made already stands.
os.environ.setdefault("GRAPHITI_TELEMETRY_ENABLED", "false")  # noqa: TID251 - read there only
