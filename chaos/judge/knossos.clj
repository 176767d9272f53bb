; Judges histories of the chaos harness with Knossos, the linearizability checker of Jepsen.
;
;   java -cp CLASSPATH clojure.main chaos/judge/knossos.clj HISTORY...
;
; CLASSPATH has Clojure and Knossos. On Debian 12:
;
;   apt-get install openjdk-17-jre-headless libclojure-java libmath-combinatorics-clojure libpotemkin-clojure \
;       libslingshot-clojure libtools-logging-clojure
;   git clone https://github.com/jepsen-io/knossos && git -C knossos checkout 9b2c79e
;   mkdir -p stub/multiset                     # a library that only Knossos' models of queues need
;   echo '(ns multiset.core) (defn multiset [])' > stub/multiset/core.clj
;   jars=$(printf /usr/share/java/%s.jar: clojure core.specs.alpha spec.alpha math.combinatorics potemkin riddley \
;       clj-tuple slingshot tools.logging)
;   java -cp "${jars}knossos/src:stub" clojure.main chaos/judge/knossos.clj chaos-report/.../history.edn
;
; A HISTORY is a history.edn, which may be compressed with gzip. A :key is the name of
; a lock, or a register. The keys are judged one by one, with a model for each:
;
;   mutex         of Knossos, for names whose holders exclude each other
;   lock          the record Lock below, for every name: who may share it, and the order of the tokens
;   cas-register  of Knossos, for registers: each cas finds the value that it expects
;
; Prints how many keys of each history fit their models, and each key that does not. It also prints a register
; "trusting/..." that lost an update; that is no violation. Knossos follows the order of :index: two ops with the same :time,
; as virtual time has them, may be refused here and accepted by judge.py, which compares times.
;
; Exit status: 0 no violation, 1 a violation, 2 no history, or not decided.

(require '[clojure.edn :as edn]
         '[clojure.java.io :as io]
         '[clojure.string :as str]
         '[knossos.history :as history]
         '[knossos.model :as model]
         '[knossos.wgl :as wgl])
(import '(java.io PushbackReader)
        '(java.util.logging Level Logger)
        '(java.util.zip GZIPInputStream)
        '(knossos.model Model))

(.setLevel (Logger/getLogger "") Level/WARNING) ; Knossos says how it searches

(def time-limit "For one key and one model, in milliseconds." 60000)

(defn read-ops [path]
  (let [in (cond-> (io/input-stream path) (str/ends-with? path ".gz") GZIPInputStream.)]
    (with-open [reader (PushbackReader. (io/reader in))]
      (vec (take-while some? (repeatedly #(edn/read {:eof nil} reader)))))))

;; The model of a lock

(defn group
  "What two holders must have in common to share a name; nil for a holder that shares it with no other."
  [{:keys [mode owner slots]}]
  (case mode
    :reader    [:readers]
    :reentrant [:owner owner]
    :semaphore [:slots slots]
    nil))

(defn slot-free?
  "Does a semaphore of n slots have one for this permit? A permit without a token has an unknown slot."
  [n slot holders]
  (and (< (count holders) n)
       (not-any? #(and slot (= slot (:slot %))) holders)))

(defn joins? [{[kind n :as group] :group slot :slot} holders]
  (and (every? #(and group (= group (:group %))) holders)
       (or (not= kind :slots) (slot-free? n slot holders))))

(defn larger?
  "Is the token larger than those of all earlier holders that may not share with this one? A reader's may be the same.
  The tokens of the permits of one semaphore need not grow in the order in which they are held."
  [{:keys [group token]} largest]
  (every? (fn [[other t]]
            (or (and other (= other group))
                (< t token)
                (and (= t token) (= group [:readers]))))
          largest))

; holders has the value of the acquire for each process that holds the lock, largest the largest token of each group.
(defrecord Lock [holders largest]
  Model
  (step [_ op]
    (let [{:keys [process group token] :as value} (:value op)]
      (cond
        (and (= (:f op) :release) (holders process))
        (Lock. (dissoc holders process) largest)

        (= (:f op) :release)
        (model/inconsistent "not held")

        (not (joins? value (vals holders)))
        (model/inconsistent (str "held by " (vals holders)))

        (and token (not (larger? value largest)))
        (model/inconsistent (str "token " token " after " largest))

        :else
        (Lock. (assoc holders process value)
               (cond-> largest token (update group (fnil max 0) token)))))))

(defn for-lock
  "Returns ops with values as Lock needs them. A process that acquires once more, after its end,
  keeps its token: only its first acquire is compared with others."
  [ops]
  (let [acquired (filter #(= [:acquire :ok] [(:f %) (:type %)]) ops)
        first-ok (reduce (fn [m {:keys [process index]}] (merge {process index} m)) {} acquired)]
    (for [{:keys [process index f type value slots] :as op} ops
          :let [token (when (= [:acquire :ok] [f type]) value)]]
      (assoc op :value {:process process
                        :group   (group op)
                        :slot    (when (and slots token) (mod token slots))
                        :token   (when (= index (first-ok process)) token)}))))

;; The judge

(defn models
  "Returns the models of a key, by name: each an initial state and the ops that it takes."
  [ops]
  (cond
    (#{:read :cas} (:f (first ops))) {"cas-register" [(model/cas-register 0) ops]}
    (some group ops)                 {"lock" [(Lock. {} {}) (for-lock ops)]}
    :else                            {"lock"  [(Lock. {} {}) (for-lock ops)]
                                      "mutex" [(model/mutex) (map #(assoc % :value nil) ops)]}))

(defn judge
  "Returns a verdict for each key of a history and each of its models."
  [path]
  (for [[key ops]           (sort-by key (group-by :key (read-ops path)))
        [named [initial of]] (models ops)]
    (let [{:keys [valid? op]} (wgl/analysis initial (history/parse-ops (vec of)) {:time-limit time-limit})]
      {:key key :model named :valid? valid? :op op :may-lose-updates (str/starts-with? key "trusting/")})))

(defn describe [path verdicts]
  (println (str path ":")
           (str/join ", " (for [[named of] (sort-by key (group-by :model verdicts))]
                            (str (count (filter #(true? (:valid? %)) of)) " of " (count of) " " named))))
  (doseq [{:keys [key model valid? op]} verdicts :when (not (true? valid?))]
    (println " " key (if (false? valid?) (str "does not fit " model ": " (pr-str op)) (str "as a " model ": not decided")))))

(defn judge-all
  "Judges the histories and returns the exit status."
  [paths]
  (let [verdicts (mapv (fn [path] (doto (doall (judge path)) (->> (describe path)))) paths)
        counted  (map :valid? (remove :may-lose-updates (apply concat verdicts)))]
    (cond
      (some false? counted) 1
      (or (empty? paths) (some empty? verdicts)
          (not-every? true? counted)) 2
      :else 0)))

(System/exit (try (judge-all *command-line-args*)
                  (catch Exception e
                    (println "no verdict:" (ex-message e))
                    2)))
