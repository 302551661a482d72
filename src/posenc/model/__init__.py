"""The encoder block of torch parts with a slot for an encoding, and how it is trained."""

from .block import EncoderBlock
from .classifier import Classifier, parameter_count
from .repeatability import repeatable
from .training import accuracy, fit, logits

__all__ = ["Classifier", "EncoderBlock", "accuracy", "fit", "logits", "parameter_count", "repeatable"]
