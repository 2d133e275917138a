// Makes the stimulus: pulses, or single edges in alternation, at a fixed or pseudo-random interval.
//
// A round is a gap of INTERVAL + 2 clocks, a random part of (R & RANDOM) + 2, and a pulse of WIDTH + 2. With `toggle` there is no
// pulse: the output changes where the pulse would begin. R is a 32-bit Galois shift register that is stepped 32 times after each
// use, so the n-th R follows from the seed alone.
`default_nettype none

module stimulus (
    input  wire         clk,
    input  wire         rst,
    input  wire         enable,
    input  wire         toggle,
    input  wire         invert,
    // The lengths are addressed by their phase: 1 INTERVAL, 2 RANDOM, 3 WIDTH.
    input  wire         length_write,
    input  wire  [1:0]  length_of,
    input  wire         seed_write,
    input  wire  [31:0] value,
    output logic        out
);
    localparam logic [1:0] GAP = 1, RANDOM = 2, PULSE = 3;
    localparam logic [31:0] TAPS = 32'hA300_0000;

    // A memory is cheaper here than registers, as only one length is needed at a time.
    (* ram_style = "block" *)
    logic [31:0] lengths[4];
    logic [31:0] length, lfsr;
    // One bit wider than a length: the borrow shows that the phase is over.
    logic [32:0] left  /*verilator public_flat_rw*/;
    logic [1:0]  phase, following;
    logic        masked, active;
    // How many steps of R are left.
    logic [5:0]  steps /*verilator public_flat_rd*/;

    wire over = left[32];

    always_comb begin
        case (phase)
            GAP:     following = RANDOM;
            RANDOM:  following = toggle ? GAP : PULSE;
            default: following = GAP;
        endcase
        if (!enable) following = GAP;
    end

    // The length of the next phase; a phase lasts at least two clocks, so it is ready in time.
    always_ff @(posedge clk) begin
        if (length_write) lengths[length_of] <= value;
        length <= lengths[following];
        masked <= following == RANDOM;
    end

    always_ff @(posedge clk) begin
        left <= (over || !enable) ? {1'b0, length & (masked ? lfsr : '1)} : left - 1;
        out  <= active ^ invert;
        if (!enable) begin
            phase  <= GAP;
            active <= 0;
        end else if (over) begin
            phase  <= following;
            active <= (phase == RANDOM) ^ (toggle && active);
        end
        if (seed_write) begin
            lfsr  <= value;
            steps <= 0;
        end else if (steps != 0) begin
            lfsr  <= {1'b0, lfsr[31:1]} ^ (lfsr[0] ? TAPS : 0);
            steps <= steps - 1;
        end else if (enable && over && phase == GAP) begin
            steps <= 32;
        end
        if (rst) begin
            phase  <= GAP;
            active <= 0;
            steps  <= 0;
        end
    end
endmodule
