// Stamps edges: four channels, two samples per clock, one record for each clock in which something happened.
//
// Channel 0 is the stimulus, read back from its own pad so that it takes the same path as the answers. The stamps of all channels
// are late by the same number of clocks; only differences of stamps have a meaning.
`default_nettype none

module capture #(
    parameter logic [31:0] TICK_INITIAL = 0
) (
    input  wire         clk,
    input  wire         rst,
    // From the input cells: the sample at the rising edge of the clock, and the sample half a clock later.
    input  wire  [3:0]  first,
    input  wire  [3:0]  second,
    input  wire         stimulus,
    input  wire         loopback,
    input  wire         run,
    input  wire  [3:0]  enable,
    input  wire         mark,
    output logic        valid,
    output logic [3:0]  kind,
    // Each channel's level before this clock, and its two samples in this clock.
    output logic [11:0] samples,
    output logic [31:0] tick /*verilator public_flat_rw*/
);
    logic [3:0] first_met, second_met, first_sync, second_sync, earlier;
    logic       stimulus_before, half_before, wrapped;

    // In loopback each channel sees the stimulus differently: unchanged, half a tick late, a tick late, inverted.
    always_ff @(posedge clk) begin
        first_met       <= first;
        second_met      <= second;
        stimulus_before <= stimulus;
        first_sync      <= loopback ? {~stimulus, stimulus_before, stimulus_before, stimulus} : first_met;
        second_sync     <= loopback ? {~stimulus, stimulus_before, stimulus, stimulus} : second_met;
        earlier          <= second_sync;
    end

    wire edge_seen = |(enable & ((earlier ^ first_sync) | (first_sync ^ second_sync)));
    wire wrap_seen = half_before != tick[31];

    // A MARK that is requested while the counter wraps shares its record: all kinds of one clock are in one record.
    always_ff @(posedge clk) begin
        tick        <= tick + 1;
        half_before <= tick[31];
        wrapped     <= wrap_seen;
        kind        <= {1'b0, mark, run & wrapped, run & edge_seen};
        valid       <= mark | (run & (wrapped | edge_seen));
        samples     <= {earlier, first_sync, second_sync};
        if (rst) begin
            tick        <= TICK_INITIAL;
            half_before <= TICK_INITIAL[31];
            wrapped     <= 0;
            valid       <= 0;
        end
    end
endmodule
