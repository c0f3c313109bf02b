"""Language models and embedders, and Graphiti's client classes in front of them.

    chat                request, response, and `ChatModel`, the port that every model implements
    stack               the wrappers of a model in order: journal, retry, budget, limiter, meter
    journal             a response cache on disk
    budget, cost_bounds the limit of a run, and the most that a request may use, which is reserved
    response_limits     limits of responses, learned from those to such requests
    accounts            what the requests of one turn have used
    retry, validate     repeated requests, and the check of each response against its schema
    limiter, rate_limits, rate_window
                        requests per minute, tokens per minute, requests in flight
    request_queue       which of the waiting requests is sent first
    ahead               requests that are sent before their turn, and guessed responses to them
    shared_limits       the same for several processes together
    meter, prices       tokens and cost of every attempt
    routing             the prompts of a run, and one of several models for each
    providers           one adapter per provider; `registry` opens a model by the provider's name
    transport           HTTP: one attempt per request, errors, limits that a server reports
    graphiti, sanitize  Graphiti's client classes over a model and an embedder
    checks              one request of each kind, sent before a run
    embedders, vectors  texts to vectors

A wrapper of a model is a model. Nothing in this package knows of turns or of a graph.
"""
