"""Model dialects: our transcript as a provider's request, a provider's reply as ours. No IO."""
