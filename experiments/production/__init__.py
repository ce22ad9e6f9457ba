"""How long do recoveries take after crashes at random moments of a load under the settings of production?"""
