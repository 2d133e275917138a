// The instrument with its serial line, as the boards' top modules instantiate it.
`default_nettype none

module instrument #(
    parameter int          CLK_HZ = 96_000_000,
    parameter int          BAUD = 3_000_000,
    parameter int          BOARD = 0,
    parameter bit          HALF_TICKS = 1,
    parameter int          FIFO_LOG2 = 8,
    parameter logic [31:0] TICK_INITIAL = 0
) (
    input  wire        clk,
    input  wire        rst,
    input  wire  [3:0] first,
    input  wire  [3:0] second,
    output logic       stimulus,
    output logic       running,
    output logic       overflowed,
    input  wire        rx,
    output logic       tx
);
    localparam int DIVIDER = CLK_HZ / BAUD;

    logic       rx_valid, tx_valid, tx_ready;
    logic [7:0] rx_byte, tx_byte;

    uart_rx #(.DIVIDER(DIVIDER)) rx_i (.clk, .rst, .line(rx), .valid(rx_valid), .data(rx_byte));

    uart_tx #(.DIVIDER(DIVIDER)) tx_i (.clk, .rst, .valid(tx_valid), .data(tx_byte), .ready(tx_ready), .line(tx));

    core #(
        .CLK_HZ(CLK_HZ),
        .BOARD(BOARD),
        .HALF_TICKS(HALF_TICKS),
        .FIFO_LOG2(FIFO_LOG2),
        .TICK_INITIAL(TICK_INITIAL)
    ) core_i (
        .clk, .rst, .first, .second, .stimulus, .running, .overflowed, .rx_valid, .rx_byte, .tx_ready, .tx_valid, .tx_byte
    );
endmodule
