// iCE40-HX8K breakout board: the 12 MHz of its oscillator times 8.25 is 99 MHz, half a tick 5.05 ns.
`default_nettype none

module top (
    input  wire       clk_12mhz,
    input  wire       rx,
    output wire       tx,
    inout  wire       stimulus_pin,
    input  wire [2:0] answer_pins,
    output wire       led_running,
    output wire       led_overflowed
);
    wire clk, locked, rst, stimulus, running, overflowed;
    wire [3:0] first, second;

    SB_PLL40_CORE #(
        .FEEDBACK_PATH("SIMPLE"),
        .DIVR(4'd0),
        .DIVF(7'd65),
        .DIVQ(3'd3),
        .FILTER_RANGE(3'd1)
    ) pll (
        .REFERENCECLK(clk_12mhz),
        .PLLOUTGLOBAL(clk),
        .LOCK(locked),
        .RESETB(1'b1),
        .BYPASS(1'b0)
    );

    pll_reset reset (.clk, .locked, .rst);

    ice40_pins pins (.clk, .stimulus, .stimulus_pin, .answer_pins, .first, .second);

    instrument #(
        .CLK_HZ(99_000_000),
        .BOARD(3),
        .FIFO_LOG2(10)
    ) instrument_i (
        .clk, .rst, .first, .second, .stimulus, .running, .overflowed, .rx, .tx
    );

    assign led_running = running;
    assign led_overflowed = overflowed;
endmodule
