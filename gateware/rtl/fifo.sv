// Holds records until the serial line takes them, and counts those that it could not hold.
//
// When it is full, events are only counted until it is half empty; then a LOST record says how many were lost, and events are
// held again. So events held + the counts of the LOST records = events offered, and the records between two losses have no gap.
`default_nettype none

module fifo #(
    parameter int LOG2 = 8
) (
    input  wire         clk,
    input  wire         clear,
    input  wire         valid,
    input  wire  [3:0]  kind,
    input  wire  [11:0] samples,
    input  wire  [31:0] tick,
    input  wire         take,
    output logic        ready,
    output logic [47:0] record,
    output logic        losing,
    output logic        empty
);
    localparam int DEPTH = 1 << LOG2;
    localparam logic [3:0] LOST = 9;

    logic [47:0]     memory[DEPTH];
    logic [LOG2-1:0] put, got;
    logic [LOG2:0]   level;
    logic [23:0]     lost;
    logic            full, half;
    logic [1:0]      settling;

    // 24 bits are enough: at 3 Mbaud the line empties half of 1024 records in under 4 million clocks of 99 MHz.
    // `full` and `half` are one clock old; `full` leaves a margin for that.
    wire        report = losing && half;
    wire        write = report || (valid && !losing && !full);
    wire [23:0] lost_now = lost + {23'b0, valid};

    always_ff @(posedge clk) begin
        if (write) memory[put] <= report ? {LOST, samples, 8'b0, lost_now} : {kind, samples, tick};
        record <= memory[got];
    end

    always_ff @(posedge clk) begin
        if (write) put <= put + 1;
        if (take) got <= got + 1;
        case ({write, take})
            2'b10:   level <= level + 1;
            2'b01:   level <= level - 1;
            default: ;
        endcase
        full <= level >= (LOG2 + 1)'(DEPTH - 3);
        half <= !level[LOG2] && !level[LOG2-1];
        if (report) begin
            losing <= 0;
            lost   <= 0;
        end else if (valid && (losing || full)) begin
            losing <= 1;
            lost   <= lost_now;
        end
        // The memory answers one clock after its address.
        settling <= take ? 2 : settling == 0 ? 0 : settling - 1;
        empty    <= level == 0;
        ready    <= level != 0 && settling == 0 && !take;
        if (clear) begin
            put      <= 0;
            got      <= 0;
            level    <= 0;
            lost     <= 0;
            losing   <= 0;
            full     <= 0;
            half     <= 1;
            settling <= 2;
            empty    <= 1;
            ready    <= 0;
        end
    end
endmodule
