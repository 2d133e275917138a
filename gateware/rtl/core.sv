// The instrument without its serial line: registers, stamps, stimulus, records. Bytes go in and out by a handshake. See
// ../PROTOCOL.md.
`default_nettype none

module core #(
    parameter int          CLK_HZ = 96_000_000,
    parameter int          BOARD = 0,
    // Whether `second` is a separate sample; else it repeats `first`, and stamps are whole ticks.
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
    input  wire        rx_valid,
    input  wire  [7:0] rx_byte,
    input  wire        tx_ready,
    output logic       tx_valid,
    output logic [7:0] tx_byte
);
    localparam logic [7:0] VERSION = 1;
    localparam logic [3:0] READ = 1, WRITE = 2;
    // Registers 0 to 3 are read-only: identity, clock, features, status. Registers 4 to 8 are write-only; 5 to 7 are the
    // stimulus's lengths.
    localparam logic [3:0] STATUS = 3, CONTROL = 4, SEED = 8;
    localparam logic [3:0] REPLY = 8, REFUSED = 10;

    logic        command_valid, execute, replied, shift_out;
    logic [3:0]  operation, address;
    logic [31:0] value;
    logic [7:0]  errors;
    logic [8:0]  control;
    logic        reads, writes, mark, clear, control_write, length_write, seed_write, reply_bit;

    // A command is stable for some clocks before it is executed, and its reply waits until it has taken effect.
    always_ff @(posedge clk) begin
        reads         <= operation == READ && address <= STATUS;
        writes        <= operation == WRITE && address >= CONTROL && address <= SEED;
        control_write <= execute && writes && address == CONTROL;
        length_write  <= execute && writes && address != SEED;
        seed_write    <= execute && writes && address == SEED;
        // The two lowest bits of CONTROL act once; the others keep their value.
        mark  <= control_write && value[0];
        clear <= control_write && value[1];
        if (control_write) control <= value[10:2];
        if (rst) begin
            mark    <= 0;
            clear   <= 1;
            control <= 0;
        end
    end

    wire       stimulate = control[1];
    wire       loopback = control[4];
    wire [3:0] enable = control[8:5];
    assign running = control[0];

    stimulus stimulus_i (
        .clk, .rst,
        .enable(stimulate),
        .toggle(control[2]),
        .invert(control[3]),
        // For CONTROL, length_of is 0, which no phase uses.
        .length_write,
        .length_of(address[1:0]),
        .seed_write, .value,
        .out(stimulus)
    );

    logic        event_valid;
    logic [3:0]  event_kind;
    logic [11:0] samples;
    logic [31:0] tick;
    wire  [3:0]  levels = samples[3:0];

    capture #(.TICK_INITIAL(TICK_INITIAL)) capture_i (
        .clk, .rst, .first, .second, .stimulus, .loopback, .enable, .mark,
        .run(running),
        .valid(event_valid),
        .kind(event_kind),
        .samples, .tick
    );

    logic        record_ready, record_take, losing, empty;
    logic [47:0] record;

    fifo #(.LOG2(FIFO_LOG2)) fifo_i (
        .clk, .clear,
        .valid(event_valid),
        .kind(event_kind),
        .samples, .tick,
        .take(record_take),
        .ready(record_ready),
        .record, .losing, .empty
    );

    always_ff @(posedge clk) begin
        if (losing) overflowed <= 1;
        if (clear) overflowed <= 0;
    end

    logic [31:0] answer;
    wire  [1:0]  asked = address[1:0];
    wire  [15:0] status = {errors, overflowed, empty, stimulate, running, levels};

    always_comb begin
        case (asked)
            0:       answer = {16'h5254, VERSION, 8'(BOARD)};
            1:       answer = CLK_HZ;
            2:       answer = {16'b0, 8'(FIFO_LOG2), 3'b0, HALF_TICKS, 4'd4};
            default: answer = {16'b0, status};
        endcase
    end

    receive receive_i (
        .clk, .rst,
        .clear_errors(clear),
        .byte_valid(rx_valid),
        .byte_in(rx_byte),
        .done(replied),
        .load(execute),
        .load_kind(reads || writes ? REPLY : REFUSED),
        .load_answer(reads),
        .answer, .shift_out,
        .valid(command_valid),
        .operation, .address, .value,
        .bit_out(reply_bit),
        .errors
    );

    transmit transmit_i (
        .clk, .rst, .command_valid, .execute, .replied,
        .reply_bit,
        .reply_shift(shift_out),
        .event_ready(record_ready),
        .event_record(record),
        .event_take(record_take),
        .byte_ready(tx_ready),
        .byte_valid(tx_valid),
        .byte_out(tx_byte)
    );
endmodule
