// Receives commands from the line: SLIP, eight bytes, CRC-16. Anything but a whole, undamaged command is counted and ignored.
//
// The register that holds the command also shifts the reply out, bit by bit, after the fields that differ were replaced.
`default_nettype none

module receive (
    input  wire         clk,
    input  wire         rst,
    input  wire         clear_errors,
    input  wire         byte_valid,
    input  wire  [7:0]  byte_in,
    // The command is held until `done`; commands that arrive meanwhile are refused.
    input  wire         done,
    input  wire         load,
    input  wire  [3:0]  load_kind,
    input  wire         load_answer,
    input  wire  [31:0] answer,
    input  wire         shift_out,
    output logic        valid,
    output wire  [3:0]  operation,
    output wire  [3:0]  address,
    output wire  [31:0] value,
    output wire         bit_out,
    output logic [7:0]  errors
);
    localparam logic [7:0] END = 8'hC0, ESC = 8'hDB, ESC_END = 8'hDC, ESC_ESC = 8'hDD;

    logic        escaped, bad;
    logic [3:0]  count, bits;
    logic [7:0]  shift;
    logic [15:0] crc;
    // Operation, address, tag, value.
    logic [47:0] command;

    assign operation = command[47:44];
    assign address = command[43:40];
    assign value = command[31:0];
    assign bit_out = command[47];

    // `count` is 9 if there were more than the eight bytes of a command.
    wire whole = count == 8 && !bad && !escaped && crc == 0 && !valid;
    wire idle = count == 0 && !bad && !escaped;
    wire wrong = byte_valid && byte_in == END && !whole && !idle;

    always_ff @(posedge clk) begin
        if (bits != 0) begin
            bits  <= bits - 1;
            shift <= {shift[6:0], 1'b0};
            crc   <= {crc[14:0], 1'b0} ^ ((crc[15] ^ shift[7]) ? 16'h1021 : 16'h0);
        end
        // Only the first six bytes; the CRC itself need not be kept.
        if (shift_out || (bits != 0 && count <= 6)) command <= {command[46:0], shift[7]};
        if (load) begin
            command[47:44] <= load_kind;
            if (load_answer) command[31:0] <= answer;
        end
        if (done) valid <= 0;
        if (byte_valid) begin
            if (byte_in == END) begin
                if (whole) valid <= 1;
                escaped <= 0;
                bad     <= 0;
                count   <= 0;
                crc     <= 16'hFFFF;
            end else if (valid || bits != 0) begin
                bad <= 1;
            end else if (byte_in == ESC) begin
                escaped <= 1;
                if (escaped) bad <= 1;
            end else begin
                escaped <= 0;
                if (escaped && byte_in != ESC_END && byte_in != ESC_ESC) bad <= 1;
                shift <= !escaped ? byte_in : byte_in[0] ? ESC : END;
                if (count != 9) count <= count + 1;
                bits <= 8;
            end
        end
        if (clear_errors) errors <= 0;
        else if (wrong && errors != '1) errors <= errors + 1;
        if (rst) begin
            valid   <= 0;
            escaped <= 0;
            bad     <= 0;
            count   <= 0;
            bits    <= 0;
            crc     <= 16'hFFFF;
            errors  <= 0;
        end
    end
endmodule
