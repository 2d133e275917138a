// Bench of an iCE40's pins, on the vendor's cells as yosys models them: which sample is whose, and how the stimulus is read back.
`timescale 1ps / 1ps
`default_nettype none

module pins_bench;
    localparam int HALF = 5000;
    // From a sample at a pin to both outputs, clocks.
    localparam int LATE = 2;

    logic       clk = 0, stimulus = 0;
    logic [2:0] answer_pins = 0;
    wire        stimulus_pin;
    wire  [3:0] first, second;

    ice40_pins pins (.clk, .stimulus, .stimulus_pin, .answer_pins, .first, .second);

    // Rising edges at odd, falling ones at even multiples of HALF.
    always #HALF clk = ~clk;

    // The levels at each of the clock's edges, as a host would want them.
    logic [3:0] at_rising[$], at_falling[$];
    always @(posedge clk) at_rising.push_back({answer_pins, stimulus_pin});
    always @(negedge clk) if ($time > HALF) at_falling.push_back({answer_pins, stimulus_pin});

    int compared = 0, edges = 0, seed, i;

    always @(posedge clk) begin
        #1;
        if (at_rising.size() > LATE + 2) begin
            i = at_rising.size() - 1 - LATE;
            if (first !== at_rising[i] || second !== at_falling[i]) begin
                $display("pins_bench failed at %0t: %b %b, not %b %b", $time, first, second, at_rising[i], at_falling[i]);
                $fatal;
            end
            compared++;
            edges += first != second;
        end
    end

    initial begin
        if (!$value$plusargs("seed=%d", seed)) seed = 1;
        $display("seed %0d", seed);
        repeat (20000) begin
            // Any time but that of an edge, where either level would be right.
            #(1 + $urandom(seed) % (3 * HALF));
            if ($time % HALF < 5 || $time % HALF > HALF - 5) #10;
            if ($urandom(seed) % 4 == 0) stimulus <= ~stimulus;
            else answer_pins[$urandom(seed) % 3] ^= 1;
        end
        if (compared < 10000 || edges < 1000) $fatal(1, "pins_bench met too little: %0d, %0d", compared, edges);
        $display("coverage: %0d clocks, %0d edges within one\n1 benches passed", compared, edges);
        $finish;
    end
endmodule
