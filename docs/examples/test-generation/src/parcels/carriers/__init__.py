"""Those who carry parcels."""
