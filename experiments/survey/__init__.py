"""How long do recoveries take under conditions drawn at random from all that can be: tables, age, buffer pools?"""
