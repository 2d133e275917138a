// The instrument on a board with an iCE40: clock, reset, pins. What a board is like stands in its board.mk.
`default_nettype none

module ice40_top #(
    parameter int BOARD     = 0,
    // The clock is the oscillator's 12 MHz times (DIVF + 1) / 2^DIVQ.
    parameter int DIVF      = 65,
    parameter int DIVQ      = 3,
    // The oscillator is on the pad that leads straight to the PLL.
    parameter bit PLL_PAD   = 0,
    // The lights are lit when low.
    parameter bit LEDS_LOW  = 0,
    parameter int FIFO_LOG2 = 10
) (
    input  wire       clk_12mhz,
    input  wire       rx,
    output wire       tx,
    inout  wire       stimulus_pin,
    input  wire [2:0] answer_pins,
    output wire       led_running,
    output wire       led_overflowed
);
    localparam int CLK_HZ = 12_000_000 / (1 << DIVQ) * (DIVF + 1);
    wire clk, locked, rst, stimulus, running, overflowed;
    wire [3:0] first, second;

    if (PLL_PAD) begin : from_pad
        SB_PLL40_PAD #(
            .FEEDBACK_PATH("SIMPLE"),
            .DIVR(4'd0),
            .DIVF(DIVF[6:0]),
            .DIVQ(DIVQ[2:0]),
            .FILTER_RANGE(3'd1)
        ) pll (
            .PACKAGEPIN(clk_12mhz),
            .PLLOUTGLOBAL(clk),
            .LOCK(locked),
            .RESETB(1'b1),
            .BYPASS(1'b0)
        );
    end else begin : from_core
        SB_PLL40_CORE #(
            .FEEDBACK_PATH("SIMPLE"),
            .DIVR(4'd0),
            .DIVF(DIVF[6:0]),
            .DIVQ(DIVQ[2:0]),
            .FILTER_RANGE(3'd1)
        ) pll (
            .REFERENCECLK(clk_12mhz),
            .PLLOUTGLOBAL(clk),
            .LOCK(locked),
            .RESETB(1'b1),
            .BYPASS(1'b0)
        );
    end

    pll_reset reset (.clk, .locked, .rst);

    ice40_pins pins (.clk, .stimulus, .stimulus_pin, .answer_pins, .first, .second);

    instrument #(.CLK_HZ(CLK_HZ), .BOARD(BOARD), .FIFO_LOG2(FIFO_LOG2)) instrument_i (
        .clk, .rst, .first, .second, .stimulus, .running, .overflowed, .rx, .tx
    );

    assign led_running = running ^ LEDS_LOW;
    assign led_overflowed = overflowed ^ LEDS_LOW;
endmodule
