"""What can go wrong with a store, as exceptions a caller can tell apart."""

from __future__ import annotations


class StoreError(Exception):
    """The store cannot do what was asked; the message says why and what to do."""


class DamageError(StoreError):
    """Files of the store do not hold what was once written to them."""


class DamageWarning(UserWarning):
    """Damaged files were left out, because the caller asked for `on_damage="skip"`."""
