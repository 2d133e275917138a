// Frames records for the line: sequence number, record, CRC-16, in SLIP. Replies come before events.
//
// Commands are executed here, between two frames, so that none changes a record while it is being framed. Bits are handled one by
// one, which takes few cells and is still much faster than any line.
`default_nettype none

module transmit (
    input  wire         clk,
    input  wire         rst,
    input  wire         command_valid,
    output logic        execute,
    output logic        replied,
    input  wire         reply_bit,
    output logic        reply_shift,
    input  wire         event_ready,
    input  wire  [47:0] event_record,
    output logic        event_take,
    input  wire         byte_ready,
    output logic        byte_valid,
    output logic [7:0]  byte_out
);
    localparam logic [7:0] END = 8'hC0, ESC = 8'hDB, ESC_END = 8'hDC, ESC_ESC = 8'hDD;
    localparam logic [2:0] IDLE = 0, EXECUTE = 1, SETTLE = 2, TAKE = 3, BYTE = 4, SEND = 5, ESCAPED = 6, FINISH = 7;

    logic [2:0]  state;
    logic        is_reply, chosen, taken, next_bit, of_crc;
    // Number of the frame's next bit: sequence number 0 to 15, record 16 to 63, CRC 64 to 79.
    logic [6:0]  place;
    logic [15:0] sequence_number, crc;
    logic [7:0]  current;

    // A request that was completed one clock ago is still asserted.
    wire command_waits = command_valid && !replied;
    wire event_waits = event_ready && !event_take;
    wire complete = place == 80;
    wire reserved = current == END || current == ESC;

    // One of 64 bits is chosen in two steps, one clock each: first one of every 16 bits, then one of these.
    logic [3:0] candidates;
    logic [2:0] part;
    wire [3:0]  from_end = ~place[3:0];

    assign reply_shift = chosen && is_reply && part != 0 && !part[2];

    always_ff @(posedge clk) begin
        execute    <= 0;
        replied    <= 0;
        event_take <= 0;
        byte_valid <= 0;
        candidates <= {event_record[{2'd0, from_end}], event_record[{2'd1, from_end}], event_record[{2'd2, from_end}],
            sequence_number[from_end]};
        part   <= place[6:4];
        chosen <= state == TAKE;
        taken  <= chosen;
        of_crc <= part[2];
        if (state == TAKE) place <= place + 1;
        next_bit <= part[2] ? crc[15] : is_reply && part != 0 ? reply_bit : candidates[part[1:0]];
        if (taken) current <= {current[6:0], next_bit};
        // The CRC is shifted out from its upper end.
        if (state == IDLE) crc <= 16'hFFFF;
        else if (taken && !of_crc) crc <= {crc[14:0], 1'b0} ^ ((crc[15] ^ next_bit) ? 16'h1021 : 16'h0);
        else if (chosen && part[2]) crc <= {crc[14:0], 1'b0};
        case (state)
            IDLE: begin
                place    <= 0;
                is_reply <= command_waits;
                execute  <= command_waits;
                if (command_waits) state <= EXECUTE;
                else if (event_waits) state <= TAKE;
            end
            // Lets the command act before its reply is sent.
            EXECUTE: state <= SETTLE;
            SETTLE:  state <= TAKE;
            TAKE:    if (place[2:0] == 7) state <= BYTE;
            BYTE:    if (!chosen && !taken) state <= SEND;
            SEND: if (byte_ready && !byte_valid) begin
                byte_valid <= 1;
                byte_out   <= reserved ? ESC : current;
                state      <= reserved ? ESCAPED : complete ? FINISH : TAKE;
            end
            ESCAPED: if (byte_ready && !byte_valid) begin
                byte_valid <= 1;
                byte_out   <= current[0] ? ESC_ESC : ESC_END;
                state      <= complete ? FINISH : TAKE;
            end
            FINISH: if (byte_ready && !byte_valid) begin
                byte_valid      <= 1;
                byte_out        <= END;
                sequence_number <= sequence_number + 1;
                replied         <= is_reply;
                event_take      <= !is_reply;
                state           <= IDLE;
            end
        endcase
        if (rst) begin
            state           <= IDLE;
            sequence_number <= 0;
            byte_valid      <= 0;
            execute         <= 0;
            replied         <= 0;
            event_take      <= 0;
            chosen          <= 0;
            taken           <= 0;
        end
    end
endmodule
