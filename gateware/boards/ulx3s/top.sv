// ULX3S (ECP5 25F): the 25 MHz of its oscillator times 3 is 75 MHz. Stamps are whole ticks of 13.33 ns, from plain registers: which
// of a DDR input cell's samples comes first is in no model that the open tools have.
`default_nettype none

module top (
    input  wire       clk_25mhz,
    input  wire       rx,
    output wire       tx,
    inout  wire       stimulus_pin,
    input  wire [2:0] answer_pins,
    output wire       led_running,
    output wire       led_overflowed
);
    wire clk, locked, rst, stimulus, stimulus_back;

    // 600 MHz inside: CLKOP_CPHASE is what ecppll says for that.
    (* FREQUENCY_PIN_CLKI="25", FREQUENCY_PIN_CLKOP="75", ICP_CURRENT="12", LPF_RESISTOR="8" *)
    EHXPLLL #(
        .CLKI_DIV(1),
        .CLKFB_DIV(3),
        .CLKOP_ENABLE("ENABLED"),
        .CLKOP_DIV(8),
        .CLKOP_CPHASE(4),
        .CLKOP_FPHASE(0),
        .FEEDBK_PATH("CLKOP")
    ) pll (
        .RST(1'b0),
        .STDBY(1'b0),
        .CLKI(clk_25mhz),
        .CLKOP(clk),
        .CLKFB(clk),
        .PHASESEL0(1'b0),
        .PHASESEL1(1'b0),
        .PHASEDIR(1'b1),
        .PHASESTEP(1'b1),
        .PHASELOADREG(1'b1),
        .PLLWAKESYNC(1'b0),
        .ENCLKOP(1'b0),
        .LOCK(locked)
    );

    pll_reset reset (.clk, .locked, .rst);

    // The stimulus is read back from its own pad, so that it is stamped on the way that answers take.
    logic       stimulus_out;
    logic [3:0] met, levels;
    BB stimulus_io (.B(stimulus_pin), .I(stimulus_out), .O(stimulus_back), .T(1'b0));

    always_ff @(posedge clk) begin
        stimulus_out <= stimulus;
        met          <= {answer_pins, stimulus_back};
        levels       <= met;
    end

    instrument #(
        .CLK_HZ(75_000_000),
        .BOARD(4),
        .HALF_TICKS(0),
        .FIFO_LOG2(10)
    ) instrument_i (
        .clk, .rst, .first(levels), .second(levels), .stimulus, .running(led_running), .overflowed(led_overflowed), .rx, .tx
    );
endmodule
