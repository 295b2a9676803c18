"""Looking at programs: dumps with their source, graphs from text, where numbers go wrong, what lines cost."""
