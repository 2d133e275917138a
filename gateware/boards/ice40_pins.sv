// The pins of an iCE40: inputs sampled at both edges of the clock, and a stimulus that is read back from its own pad.
`default_nettype none

module ice40_pins (
    input  wire       clk,
    input  wire       stimulus,
    inout  wire       stimulus_pin,
    input  wire [2:0] answer_pins,
    output wire [3:0] first,
    output wire [3:0] second
);
    // Registered output, always driven; input registered at both edges: D_IN_0 at the rising one, D_IN_1 at the falling one after it.
    SB_IO #(.PIN_TYPE(6'b0101_00)) stimulus_io (
        .PACKAGE_PIN(stimulus_pin),
        .INPUT_CLK(clk),
        .OUTPUT_CLK(clk),
        .D_OUT_0(stimulus),
        .D_IN_0(first[0]),
        .D_IN_1(second[0])
    );

    // Pulled up: an input that nothing is wired to is quiet.
    SB_IO #(.PIN_TYPE(6'b0000_00), .PULLUP(1'b1)) answer_io[2:0] (
        .PACKAGE_PIN(answer_pins),
        .INPUT_CLK(clk),
        .D_IN_0(first[3:1]),
        .D_IN_1(second[3:1])
    );
endmodule
