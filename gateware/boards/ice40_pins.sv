// The pins of an iCE40: inputs sampled at both edges of the clock, and a stimulus that is read back from its own pad.
`default_nettype none

module ice40_pins (
    input  wire        clk,
    input  wire        stimulus,
    inout  wire        stimulus_pin,
    input  wire  [2:0] answer_pins,
    output logic [3:0] first,
    output logic [3:0] second
);
    wire  [3:0] rising, falling;
    logic [3:0] rising_met, falling_met;

    // The cell's falling half is taken over at a falling edge too, so that it has a whole clock to get there: no tool checks that way.
    always_ff @(negedge clk) falling_met <= falling;

    always_ff @(posedge clk) begin
        rising_met <= rising;
        first      <= rising_met;
        second     <= falling_met;
    end

    // Registered output, always driven; input registered at both edges: D_IN_0 at the rising one, D_IN_1 at the falling one after it.
    SB_IO #(.PIN_TYPE(6'b0101_00)) stimulus_io (
        .PACKAGE_PIN(stimulus_pin),
        .INPUT_CLK(clk),
        .OUTPUT_CLK(clk),
        .D_OUT_0(stimulus),
        .D_IN_0(rising[0]),
        .D_IN_1(falling[0])
    );

    // Pulled up: an input that nothing is wired to is quiet.
    SB_IO #(.PIN_TYPE(6'b0000_00), .PULLUP(1'b1)) answer_io[2:0] (
        .PACKAGE_PIN(answer_pins),
        .INPUT_CLK(clk),
        .D_IN_0(rising[3:1]),
        .D_IN_1(falling[3:1])
    );
endmodule
