"""What requests that were not sent would use."""

import pytest

from turnetl.base.model import Usage
from turnetl.estimation.extrapolation import Calibration, PromptMeans
from turnetl.estimation.pilot import ObservedRequest
from turnetl.llm.prices import Price

PRICE = Price(input=1.0, cached_input=0.5, output=10.0)


def sent(prompt: str, tokens: int, counted: int, response: int) -> ObservedRequest:
    return ObservedRequest(prompt, tokens, Usage(1, counted, response, 0.1, seconds=2.0))


def calibrated(*observed: ObservedRequest, **earlier: PromptMeans) -> Calibration:
    return Calibration(observed, lambda _: PRICE, earlier)


def test_a_request_that_was_not_sent_has_the_means_of_its_prompt() -> None:
    calibration = calibrated(
        sent("edges", 100, 120, 30), sent("edges", 300, 360, 50), sent("nodes", 10, 40, 9)
    )
    usage = calibration.usage([ObservedRequest("edges", 1000, None)])["edges"]
    assert (usage.calls, usage.prompt_tokens, usage.completion_tokens) == (1, 1200, 40)
    assert usage.cost == pytest.approx((1200 * 1.0 + 40 * 10.0) / 1e6)
    assert usage.seconds == 2.0


def test_a_request_that_was_sent_counts_as_it_was_whenever_it_was_paid() -> None:
    request = sent("edges", 100, 120, 30)
    assert calibrated(request).usage([request, request])["edges"] == Usage(
        2, 240, 60, 0.2, seconds=4.0
    )


def test_a_prompt_of_which_none_was_sent_has_the_means_of_earlier_runs_or_of_all_prompts() -> None:
    other = ObservedRequest("summaries", 50, None)
    observed = sent("edges", 100, 200, 30)
    earlier = PromptMeans(9, ratio=1.0, calls=1.0, completion_tokens=77.0, seconds=1.0)
    assert calibrated(observed).usage([other])["summaries"].completion_tokens == 30
    usage = calibrated(observed, summaries=earlier).usage([other])["summaries"]
    # The ratio is that of this pilot: the journal has no texts.
    assert (usage.completion_tokens, usage.prompt_tokens) == (77, 100)


def test_the_mean_of_few_responses_may_be_far_from_the_truth() -> None:
    one = calibrated(sent("edges", 1, 1, 30))
    few = calibrated(*(sent("edges", 1, 1, length) for length in (20, 30, 40)))
    many = calibrated(*(sent("edges", 1, 1, length) for length in (20, 30, 40) * 10))
    equal = calibrated(*(sent("edges", 1, 1, 30) for _ in range(3)))
    margins = [calibration.completion_margin("edges") for calibration in (one, few, many, equal)]
    assert margins[0] == 30.0
    assert margins[1] == pytest.approx(4.303 * 10 / 3**0.5, rel=0.01)
    assert margins[2] < 5
    assert margins[3] == 0.0
