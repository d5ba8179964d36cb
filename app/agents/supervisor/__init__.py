"""The supervisor: plans, rewrites what failed, reconciles. It acts only through structured replies that code checks."""
