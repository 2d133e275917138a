// Sends bytes to a serial line, 8N1.
`default_nettype none

module uart_tx #(
    parameter int DIVIDER = 32
) (
    input  wire        clk,
    input  wire        rst,
    input  wire        valid,
    input  wire  [7:0] data,
    output logic       ready,
    output logic       line
);
    localparam int WIDTH = $clog2(DIVIDER);

    logic [WIDTH-1:0] wait_for;
    logic [3:0]       bits;
    logic [8:0]       shift;

    always_ff @(posedge clk) begin
        if (valid && ready) begin
            shift    <= {data, 1'b0};
            bits     <= 10;
            wait_for <= WIDTH'(DIVIDER - 1);
            ready    <= 0;
        end else if (bits != 0) begin
            if (wait_for != 0) begin
                wait_for <= wait_for - 1;
            end else begin
                wait_for <= WIDTH'(DIVIDER - 1);
                shift    <= {1'b1, shift[8:1]};
                bits     <= bits - 1;
            end
        end else begin
            ready <= 1;
        end
        line <= bits == 0 || shift[0];
        if (rst) begin
            bits  <= 0;
            ready <= 0;
            line  <= 1;
        end
    end
endmodule
