// Reset until the PLL has locked, released in step with its clock.
`default_nettype none

module pll_reset (
    input  wire  clk,
    input  wire  locked,
    output logic rst
);
    logic [1:0] met = 2'b11;

    always_ff @(posedge clk) begin
        met <= {met[0], ~locked};
        rst <= met[1];
    end
endmodule
