A="x y" B=${C:-d}
torchrun \
  --n=1 'q' $A "$B" a\ b # no
