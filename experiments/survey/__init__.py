"""Recovery times under conditions drawn at random: tables, checkpoint age, buffer pools."""
