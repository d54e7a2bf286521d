"""What is wrong around a host, and how it is put right; reads only, unless it is told to mend (spec 60, doctor)."""
