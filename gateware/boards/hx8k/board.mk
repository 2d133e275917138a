# iCE40-HX8K breakout board: half a tick is 5.05 ns.
DEVICE := hx8k
PACKAGE := ct256
MHZ := 99
PARAMETERS := BOARD=3 DIVF=65 DIVQ=3 FIFO_LOG2=10
