// Receives bytes from a serial line, 8N1. A byte without a stop bit is dropped; the frame that it belongs to then fails its CRC.
`default_nettype none

module uart_rx #(
    parameter int DIVIDER = 32
) (
    input  wire        clk,
    input  wire        rst,
    input  wire        line,
    output logic       valid,
    output logic [7:0] data
);
    localparam int WIDTH = $clog2(DIVIDER + 1);

    logic             met, level;
    logic [WIDTH-1:0] wait_for;
    logic [3:0]       bits;

    always_ff @(posedge clk) begin
        met   <= line;
        level <= met;
        valid <= 0;
        if (bits == 0) begin
            // Half a bit from the start bit's edge to its middle.
            wait_for <= WIDTH'(DIVIDER / 2 - 1);
            if (!level) bits <= 10;
        end else if (wait_for != 0) begin
            wait_for <= wait_for - 1;
        end else begin
            wait_for <= WIDTH'(DIVIDER - 1);
            bits     <= bits - 1;
            if (bits == 10) begin
                // A start bit that has gone by its middle was noise.
                if (level) bits <= 0;
            end else if (bits == 1) begin
                valid <= level;
            end else begin
                data <= {level, data[7:1]};
            end
        end
        if (rst) begin
            met   <= 1;
            level <= 1;
            bits  <= 0;
            valid <= 0;
        end
    end
endmodule
