"""HTTP/1.1 connections to a provider, without a proxy (`direct`) and through one (`proxied`)."""
